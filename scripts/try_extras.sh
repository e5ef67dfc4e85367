#!/bin/sh
# Installs each extra by itself into a fresh environment and imports what it is for.
# Usage: try_extras.sh UV PYTHON
set -eu
uv=$1 python=$2

try() {
	folder=build/extras/${1:-none}
	"$uv" venv --quiet --clear --python "$python" "$folder"
	"$uv" pip install --quiet --python "$folder" ".${1:+[$1]}"
	# From another folder, and without PYTHONPATH, so that what was installed is what is tried.
	(cd build/extras && env -u PYTHONPATH "${1:-none}/bin/python" -c "$2")
	echo "${1:-no extra}: works"
}

mkdir -p build/extras
try "" "import tamis, tamis.cli, tamis.dialects"
try client "import tamis.client as client; client.Client('http://127.0.0.1:1').close()"
try spark "import tamis.pipeline"
try service "import tamis.client, tamis.service.serve, tamis.service.app, tamis.pipeline"
try broker "import tamis.broker.process"
try sigma "from tamis.dialects import sigma; sigma.convert('{title: t, logsource: {}, detection: {s: {a: b}, condition: s}}', __import__('tamis').Schema.from_dict({'attributes': {'a': 'string'}, 'event_types': {'e': {'a': 'optional'}}}))"
try spatial "import tamis.operators.library.spatial"
try images "import tamis.operators.library.images"
try reasoning "import tamis.operators.library.reasoning"
