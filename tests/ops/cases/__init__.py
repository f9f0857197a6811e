"""The tables of cases, with the stems of the cards' files."""
