"""What a report says of data sets, and how it is drawn."""
