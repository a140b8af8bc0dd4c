import unittest
from decimal import Decimal

from billing.money import CurrencyMismatch, Money


class MoneyTest(unittest.TestCase):
    def test_a_text_becomes_cents(self) -> None:
        self.assertEqual(Money.of("12.50"), Money(1250))

    def test_a_third_decimal_place_is_refused(self) -> None:
        with self.assertRaises(ValueError):
            Money.of("0.125")

    def test_two_currencies_are_never_added(self) -> None:
        with self.assertRaises(CurrencyMismatch):
            Money(1) + Money(1, "USD")

    def test_half_a_cent_is_rounded_to_even(self) -> None:
        self.assertEqual(Money(5).times(Decimal("0.5")), Money(2))

    def test_a_negative_amount_is_written_with_its_sign(self) -> None:
        self.assertEqual(str(Money(-1205)), "-12.05 EUR")


if __name__ == "__main__":
    unittest.main()
