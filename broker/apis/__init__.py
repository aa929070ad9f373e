"""The served APIs, one file per family; each ends with its APIS table."""
