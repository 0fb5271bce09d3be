"""Reading: the view for channels, live events, the history of jobs. Changes nothing."""
