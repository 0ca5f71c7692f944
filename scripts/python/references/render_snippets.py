"""Renders small templates with Jinja2, each with a construct that the JavaScript engine handles differently."""

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
    "{% for i in l %}{{ i }}{% if i == 2 %}a{% break %}b{% endif %}c{% else %}d{% endfor %}",
    "{% for i in l %}a{% if i == 2 %}b{% continue %}{% else %}{% if i == 1 %}e{% continue %}{% endif %}{% endif %}c{% else %}d{% endfor %}",
    "{% for i in l %}{% for j in l %}{% if j == 2 %}{% break %}{% endif %}{{ j }}{% endfor %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}",
    "{% set x = 1 %}{% for i in l %}{{ x }}{% set x = x + i %}{{ x }};{% endfor %}{{ x }}",
    "{% for i in l %}{{ x }}{% if i == 1 %}{% set x, y = 4, 5 %}{% endif %}{{ x }};{% endfor %}",
    "{% set x = 0 %}{% for i in l %}{% for j in l %}{{ x }}{% set x = j %}{% endfor %}{{ x }}{% set x = 9 %}{% endfor %}{{ x }}",
    "{% set x = 0 %}{% for i in l %}{{ x }}{% set x = 9 %}{% for j in l %}{{ x }}{% set x = j %}{% endfor %}{{ x }};{% endfor %}{{ x }}",
    "{% set n = namespace(x=0) %}{% for i in l %}{% set n.x = n.x + i %}{% endfor %}{{ n.x }}",
    "{% for i in l %}{% set i = i * 2 %}{{ i }}{{ loop.index }}{% endfor %}",
    "{% for c in 'hé😀' %}{{ c }}-{% endfor %}{% for x in nothing %}y{% endfor %}{% for x in nothing if x %}y{% endfor %}",
    "{% for a, b in [('x', 1), ('y', 2)] %}{{ a }}{{ b }}{% endfor %}{% for a in (1, 2) %}{{ a }}{% endfor %}",
    "{% for k, v in {'b': 1, 'A': 2, 'a': 3, 'a1': [4]} | dictsort %}{{ k }}={{ v }}{{ loop.index }}{% if k == 'a' %}{% continue %}{% endif %};{% endfor %}",
    "{% for k, v in d | dictsort if v %}{{ k }}={{ v }};{% endfor %}{% for p in d | dictsort %}{{ p[0] }}{% endfor %}{% for k, v in d | dictsort(true) %}{{ k }}{% endfor %}",
    "{% for k, v in none | dictsort %}{% endfor %}",
    "{% for k, v in d | dictsort %}{{ d[k] }}{% for j, w in {k: 1} | dictsort %}{{ j }}{{ k }}{{ w }}{% endfor %}{{ k }}{{ d[k] == v }};{% endfor %}",
    "{% for x in none %}{% endfor %}",
    "{{ none in [none, 1] }} {{ none in ['a'] }} {{ true in [1] }} {{ 1.0 in [1] }} {{ [1] in [[1]] }} {{ 'z' in d }} {{ 'q' not in d }}",
    "{{ 'a' + s + 'b' + (s + s) }} {{ [1] + [2] + l }} {{ 1 + 2 + 1.5 }} {{ s + s }} {{ 'a' + ('b' + 'c') }}",
    "{{ 'a' + 1 }}",
    "{{ l[0] + 'a' }}",
    "{{ s + 'a' + d }}",
    "{{ 'a' + none }}",
    "{{ 'x' in nothing }} {{ nothing in l }} {{ nothing not in l }}",
    "{{ none in 'none' }}",
    "{{ 'a' in none }}",
    "{{ d is iterable }} {{ l is iterable }} {{ (1, 2) is iterable }} {{ 'a' is iterable }} {{ 1 is iterable }} {{ none is iterable }} {{ nothing is iterable }}",
    "{{ d is sequence }} {{ l is sequence }} {{ 'a' is sequence }} {{ 1 is sequence }} {{ nothing is sequence }} {{ none is not sequence }}",
    "{{ true is number }} {{ true is integer }} {{ 1.5 is float }} {{ 1 is float }} {{ 1 is integer }} {{ '1' is number }} {{ '1' is not string }}",
    "{{ none | trim }}|{{ nothing | upper }}|{{ 1 | trim }}|{{ 'xax' | trim('x') }}|{{ true | lower }}|{{ none | replace('o', '0') }}|{{ none | title }}",
    "{{ '\ufeffa\x1c'.strip() == '\ufeffa' }} {{ '\x85a\u2003' | trim }}|{{ '\ufeff'.isspace() }}",
    "{{ [1, none, true, 'a'] | join(', ') }} {{ 'abc' | join('-') }} {{ nothing | join }}|{{ d | join('+') }}",
    "{{ '😀' | length }} {{ nothing | length }} {{ d | length }} {{ l | count }}",
    "{{ 1 | length }}",
    "{% for k, v in nothing | items %}x{% endfor %}{{ nothing | list }}{{ nothing | map(attribute='a') | list }}{{ nothing | selectattr('a') | list }}",
    "{{ none | selectattr('a', 'equalto', 'b') | list | length }}{{ none | rejectattr('a') | list }}{{ none | map(attribute='a') | list }}{{ '' | selectattr('a') | list }}",
    "{{ none | list }}",
    "{{ 'a' | safe + '\"' }}",
    "{% for k in none | items %}{% endfor %}",
    "{{ d[nothing] }}|{{ d[none] is defined }}|{{ l[nothing] is defined }}|{{ d['a'] }}{{ d[s] }}{% set i = 1 %}{{ l[i] }}",
    "{{ '%s-%s' | format('a', none) }} {{ '%s' | format(l) }} {{ '100%%' | format() }} {{ '%r %d' | format('a', 3) }}",
    "{{ '%s' | format() }}",
    "{{ 'x%sy' % 'a' }} {{ '%s %s' % (1, 'b') }} {{ 7 % 4 }}",
    "{{ -7 % 3 }} {{ 7 % -3 }} {{ 6 % 3 }}",
    "{{ 7 % 0 }}",
    "{{ 'a%s' % (1, 2) }}",
    "{{ 'a😀c'[1] }} {{ 'a😀c'[-1] }} {{ 'abc'[5] }} {{ l[0] }} {{ l[-1] }} {{ d['b'] }}",
    "{{ \"they're bill's (top-hat)\" | title }}",
    "{{ 'x{}y{}'.format(1, none) }} {{ '{1}{0}{{}}'.format('a', 'b') }}",
    "{{ '{}'.format() }}",
    "{{ [1.5, 'é'] | tojson(ensure_ascii=true) }}",
    "{% set x = [] %}{% set _ = x.append(1) %}{{ x }}",
    "{% set x = {0: 'a', 512: 128, 'k': 1} %}{{ x }} {{ x[512] }}{{ x[0] }}{{ x['k'] }} {{ x[1] is defined }} {{ x.get(0) }}{{ x.get(7, 'n') }} {{ 512 in x }} {{ '512' in x }} {{ x | length }} {{ {1: 'a'}[1] }} {{ {1: 2} == {1: 2} }}",
    "{% for k, v in {1024: 1, 512: 2} | dictsort %}{{ k }}{{ 600 <= k }}{{ k + 1 }}={{ v }};{% endfor %}{% for k, v in {7: 1}.items() %}{{ k }}{{ v }}{{ k > 6 }}{{ k == 7 }}{% endfor %}{% for k in {7: 1} %}{{ k }}{% endfor %}{{ {7: 1}.keys() | list }}",
    "{{ ['a', 'B'] | map('upper') | list }} {{ none | map('upper') | list }} {{ [1, none] | map('string') | join(',') }} {{ [' a '] | map('trim') | list }} {{ ['a-b'] | map('replace', '-', s) | list }} {{ [d] | map('tojson') | list }} {{ [[1], 'ab'] | map('length') | list }} {{ [none, 1] | map('default', 'x', true) | list }} {{ ['a', 'b'] | map('upper') | join(',') }}",
    "{{ [d, 'a'] | map('tojson', indent=1) | join }}",
    "{{ l | select('odd') | list }} {{ [0, 1, none, 'a', []] | select | list }} {{ [0, 1] | reject | list }} {{ [1, 'a'] | select('string') | list }} {{ l | select('gt', 1) | list }} {{ ['a', 'b'] | reject('equalto', 'a') | join }} {{ l | select('in', [1, 3]) | list }} {{ m | select('mapping') | map(attribute='role') | list }}",
    "{{ l | select('ge', 2) | list }}{{ l | select('le', 2) | list }}{{ l | select('lt', 2) | list }}{{ l | reject('ne', 2) | list }}{{ l | select('eq', 2) | list }}{{ [nothing, none] | select('defined') | list }}",
    "{{ l | select('nonsense') | list }}",
    "{{ l | map('nonsense') | list }}",
    "{{ 'a' < 'b' }} {{ 'B' < 'a' }} {{ 'é' > 'z' }} {{ 1 <= 1.0 }} {{ 2 > 1 }} {{ 'a' >= 'a' }} {{ '😀' < '\uffee' }}",
    "{{ 1 < 'a' }}",
    "{{ none < 1 }}",
    # Features that the engine lacks and refuses.
    "{{ (1,) }}",
    "{{ '%5.2f' % 1.5 }}",
    "{{ '{:>5}'.format(1) }}",
    "{{ 'a' is in ['a'] }}",
    "{{ 3 is divisibleby(3) }}",
    "{{ 1 < 2 < 3 }}",
    "{{ 'a' * 3 }}",
    "{{ l | sum }}",
    "{{ l | max }}",
    "{{ l | min }}",
    "{{ 1.25 | round(1) }}",
    "{{ '<b>' | e }}",
    "{{ 'x'.join(['a', 'b']) }}",
    "{% raw %}{{ x }}{% endraw %}",
    "{% with a = 1 %}{{ a }}{% endwith %}",
    "{{ 1e3 }}",
    "{{ dict(a=1) }}",
    # Constructs that still differ without an error.
    "{{ nothing.x }}",
    "{{ d | items | list }}",
    "{{ nothing | tojson }}",
    "{{ ['b', 'B'] | unique | list }}",
    "{% macro f() %}{{ x }}{% endmacro %}{% for x in l %}{{ f() }}{% endfor %}",
    "{% for i in l %}{{ i }}{% break %}{% else %}e{% endfor %}",
    "{% for i in l %}{{ i }}{% for j in [] %}{% else %}{% break %}{% endfor %}{% endfor %}",
    "{% set x %}{% set y = 1 %}{% endset %}{{ y }}",
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
