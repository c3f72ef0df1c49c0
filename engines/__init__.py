"""How Workers are run: plain Python that knows neither Django nor any app of the console."""
