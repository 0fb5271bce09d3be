"""The console in the browser: pages, forms and live changes for people with a login. `render/console` has the HTML."""
