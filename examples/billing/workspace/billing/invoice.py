"""Invoices and their lines."""

from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal

from billing.money import Money

PAYMENT_DAYS = 30


@dataclass(frozen=True)
class Line:
    """One position of an invoice: so many of something at a net price, with a VAT rate such as 0.19."""

    text: str
    quantity: int
    price: Money
    vat: Decimal = Decimal("0.19")

    @property
    def net(self) -> Money:
        """Price times quantity."""
        return self.price.times(self.quantity)


@dataclass(frozen=True)
class Invoice:
    """What a customer owes; amounts are computed, never stored."""

    number: str
    customer: str
    issued: date
    lines: tuple[Line, ...] = field(default=())
    currency: str = "EUR"

    @property
    def due(self) -> date:
        """The last day to pay."""
        return self.issued + timedelta(days=PAYMENT_DAYS)

    @property
    def net(self) -> Money:
        """The sum of the lines without VAT."""
        return sum((line.net for line in self.lines), Money(0, self.currency))

    @property
    def vat(self) -> Money:
        """VAT, rounded once per rate, as the tax office wants it."""
        rates = sorted({line.vat for line in self.lines})
        by_rate = (sum((line.net for line in self.lines if line.vat == rate), Money(0, self.currency)).times(rate) for rate in rates)
        return sum(by_rate, Money(0, self.currency))

    @property
    def gross(self) -> Money:
        """What is to be paid."""
        return self.net + self.vat
