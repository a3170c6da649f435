"""Services and views that handlers of several APIs share."""
