"""Looking: what channels may know, what happens now, what happened before. Changes nothing."""
