"""What the stock command line is made to do, as data: stories of command lines with what each must show."""
