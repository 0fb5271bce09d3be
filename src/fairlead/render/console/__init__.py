"""The pages of the console in the browser: pure functions from read models to HTML, in the four languages.

How a page is added:

1. `render/console/PAGE.py`: a function `PAGE_page(model, …, lang) -> Html` that returns what stands in `<main>`. It is
   made with `markup.el`, which escapes every text, so it never writes a tag into a string. Parts that change while the
   page is open are elements with an `id` of their own: the live stream replaces an element by its id.
2. Its words in the four files of `render/words/console/`. `nav.PAGE` is its name in the menu.
3. A row in `NAV` of `layout.py`, if the menu leads to it.
4. `channels/http/console/PAGE.py`: a function `build_PAGE(visit) -> PageContent` that reads the models from
   `visit.view` (or runs a command with `visit.command`) and calls the function of step 1, and a row in `PAGES` of
   `channels/http/console/routes.py`. A page that changes by itself says in its row which live events touch it; it is
   then rendered again and sent as a whole, or, with `changes`, only the elements that changed.
5. What a person presses is a form that posts to a row in `ACTIONS` of the same file. It works without a script: the
   action returns the path of the page that is shown next.
6. Tests: `tests/render/console/test_PAGE.py` for the HTML, `tests/channels/http/console/` for the route.
"""
