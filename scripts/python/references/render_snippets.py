"""Writes what Jinja makes of small templates, each with one thing in it that JavaScript's engine has done otherwise."""

import json
import sys
from pathlib import Path

from transformers.utils.chat_template_utils import _compile_jinja_template

VALUES = {
    "d": {"a": "1", "b": 2, "z": None},
    "l": [1, 2, 3],
    "s": " héllo wOrld ",
    "m": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yo"}],
}

SNIPPETS = [
    "{{ true }} {{ false }} {{ none }} {{ nothing }}|",
    "{{ 1.0 }} {{ 1.5 }} {{ 2 }}",
    "{{ d }}",
    "{{ [none, true, 'a\"b', \"c'd\", 'e\\nf\u00a0\\\\'] }}",
    "{{ (1, 2) }}",
    "{{ d.keys() | list }} {{ 'a,b'.split(',') }}",
    "{{ 'a' ~ none ~ true ~ 1 }}",
    "{{ none | string }}|{{ true | string }}|{{ l | string }}|{{ s | string }}",
    "{{ 'x' in 'xyz' }} {{ d is mapping }} {{ not '' }}",
    "{% for key, value in d.items() %}{{ key }}={{ value }};{% endfor %}",
    "{% for i in l %}{{ loop.first }}{{ loop.last }}{% endfor %}",
    "{{ [1, 2] == [1, 2] }} {{ {'a': [1]} == {'a': [1]} }} {{ [1] != [1] }}",
    "{{ 1 == '1' }} {{ 1 == 1.0 }} {{ nothing == none }} {{ none == none }} {{ m[0].content == 'hi' }}",
    "{{ 'abcabc'.find('c') }} {{ 'abc'.find('x') }} {{ 'é😀c'.find('c') }} {{ 'abcabc'.rfind('c') }}",
    "{{ 'abc'.index('b') }}",
    "{{ 'abcab'.count('ab') }} {{ 'ab'.count('') }}",
    "{{ 'a\\nb\\r\\n\\nc\\n'.splitlines() }} {{ ''.splitlines() }}",
    "{{ 'a b c'.rsplit(' ', 1) }} {{ ' a  b '.rsplit() }} {{ 'a-b'.rsplit('-') }}",
    "{{ 'pre-a'.removeprefix('pre-') }} {{ 'a-s'.removesuffix('-s') }} {{ 'a'.removesuffix('') }}",
    "{{ 'xxaxx'.strip('x') }} {{ 'xya'.lstrip('yx') }} {{ 'ayx'.rstrip('yx') }} {{ 'xx'.strip('x') }}|{{ ' a '.strip() }}|",
    "{{ s.title() }} {{ 'ABC def'.capitalize() }} {{ 'ABC def' | capitalize }} {{ 'ABC' | title }}",
    "{{ 'a1'.isdigit() }} {{ '12'.isdigit() }} {{ 'ab'.isalpha() }} {{ 'a1'.isalnum() }} {{ ' '.isspace() }}",
    "{{ 'abc' | first }} {{ 'abc' | last }} {{ 'abc' | list }} {{ l | first }} {{ l | last }}",
    "{% set x = {'count': 1} %}{{ x.count }}",
    "{{ m | map(attribute='role') | join(',') }} {{ m | selectattr('role', 'equalto', 'user') | list | length }}",
    "{{ l | tojson(indent=2) }} {{ d | tojson(separators=(',', ':'), sort_keys=true) }} {{ 'é<' | tojson }}",
    "{% macro f(a, b=2) %}{{ a }}{{ b }}{% endmacro %}{{ f(true) }} {{ f(1, b=none) }}",
    "{% for i in l if i > 1 %}{% if i == 3 %}{% break %}{% endif %}{{ i }}{% endfor %}",
    # What the engine lacks and refuses; the first is refused by both.
    "{% set x = [] %}{% set _ = x.append(1) %}{{ x }}",
    "{{ (1,) }}",
    "{{ 'x%sy' % 'a' }}",
    "{{ '%s' | format('a') }}",
    "{{ 'x{}y'.format(1) }}",
    "{{ ['a', 'b'] | map('upper') | join(',') }}",
    "{{ l | select('odd') | list }}",
    "{{ 'a' is in ['a'] }}",
    "{{ 3 is divisibleby(3) }}",
    "{{ 1 < 2 < 3 }}",
    "{{ 'a' < 'b' }}",
    "{{ 'a' * 3 }}",
    "{{ l | sum }}",
    "{{ l | max }}",
    "{{ 1.25 | round(1) }}",
    "{{ '<b>' | e }}",
    "{{ 'x'.join(['a', 'b']) }}",
    "{% raw %}{{ x }}{% endraw %}",
    "{% with a = 1 %}{{ a }}{% endwith %}",
    "{{ 1e3 }}",
    "{{ dict(a=1) }}",
    # Where they still differ without a word.
    "{{ nothing.x }}",
    "{{ d | items | list }}",
]


def render(snippet: str) -> dict:
    try:
        return {"template": snippet, "text": _compile_jinja_template(snippet).render(**VALUES)}
    except Exception as error:
        return {"template": snippet, "text": None, "error": type(error).__name__}


def main(path: Path) -> None:
    lines = ",\n".join(json.dumps(render(snippet), ensure_ascii=False) for snippet in SNIPPETS)
    path.write_text(f'{{"values": {json.dumps(VALUES, ensure_ascii=False)}, "snippets": [\n{lines}\n]}}\n', encoding="utf-8")
    print(f"{path}: {len(SNIPPETS)} snippets")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
