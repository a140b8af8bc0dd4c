import unittest
from datetime import date
from decimal import Decimal

from billing.invoice import Invoice, Line
from billing.money import Money
from billing.numbering import following


class InvoiceTest(unittest.TestCase):
    def setUp(self) -> None:
        lines = (Line("Hosting", 2, Money.of("49.90")), Line("Book", 1, Money.of("20.00"), Decimal("0.07")))
        self.invoice = Invoice("2026-00001", "Ada GmbH", date(2026, 3, 1), lines)

    def test_vat_is_rounded_once_per_rate(self) -> None:
        self.assertEqual(self.invoice.vat, Money(1896 + 140))

    def test_gross_is_net_and_vat(self) -> None:
        self.assertEqual(str(self.invoice.gross), "140.16 EUR")

    def test_it_is_due_after_thirty_days(self) -> None:
        self.assertEqual(self.invoice.due, date(2026, 3, 31))

    def test_numbers_start_again_with_the_year(self) -> None:
        self.assertEqual(following("2025-00917", 2026), "2026-00001")
        self.assertEqual(following("2026-00041", 2026), "2026-00042")


if __name__ == "__main__":
    unittest.main()
