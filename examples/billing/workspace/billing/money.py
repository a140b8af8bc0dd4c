"""Amounts of money as whole cents with a currency, so that nothing is ever rounded twice."""

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, Decimal


class CurrencyMismatch(ValueError):
    """Two currencies met in one sum."""


@dataclass(frozen=True, order=True)
class Money:
    """`cents` of a currency given by its three-letter code."""

    cents: int
    currency: str = "EUR"

    @classmethod
    def of(cls, amount: str, currency: str = "EUR") -> "Money":
        """Return the money that a decimal text such as "12.50" stands for."""
        value = Decimal(amount) * 100
        if value != value.to_integral_value():
            raise ValueError(f"{amount} has more than two decimal places")
        return cls(int(value), currency)

    def __add__(self, other: "Money") -> "Money":
        if self.currency != other.currency:
            raise CurrencyMismatch(f"{self.currency} and {other.currency} cannot be added")
        return Money(self.cents + other.cents, self.currency)

    def times(self, factor: Decimal | int) -> "Money":
        """Return the money multiplied, rounded half to even once."""
        cents = (Decimal(self.cents) * factor).quantize(Decimal(1), rounding=ROUND_HALF_EVEN)
        return Money(int(cents), self.currency)

    def __str__(self) -> str:
        sign = "-" if self.cents < 0 else ""
        return f"{sign}{abs(self.cents) // 100}.{abs(self.cents) % 100:02d} {self.currency}"
