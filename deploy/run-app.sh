#!/bin/sh
# The image's entry point: runs the app that the first argument names, with the other arguments, in any working folder.
set -eu
root=$(dirname "$(dirname "$0")")
if [ ! -f "$root/apps/${1:-}/main.ts" ]; then
  echo "expected one of these roles as the first argument: $(ls "$root/apps" | tr '\n' ' ')" >&2
  exit 2
fi
app=$1
shift
exec node "$root/apps/$app/main.ts" "$@"
