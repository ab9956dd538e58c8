"""Recording of attempts: frame by frame, on disk, judged again from the record alone."""
