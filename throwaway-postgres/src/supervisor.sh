# Runs one program at a time in a folder of its own, for a test process that may be killed at any moment.
#
# Arguments: where to make the folder; the signal that ends a program which is still running at the end.
# Standard input: orders, each a line of shell, until the test process closes it or dies.
# Standard output: the folder.
#
# In the folder, `running` exists while a program runs and holds its process id as soon as there is one; `ended`
# holds the exit status of the last program; `log` is what the programs print.

trap '' HUP INT TERM PIPE
umask 077
folder=$(mktemp -d "$1/throwaway-postgres.XXXXXX" 2>/dev/null) ||
    folder=$(mktemp -d /tmp/throwaway-postgres.XXXXXX) || exit 1
cd "$folder" || exit 1
last_signal=$2
# Orders use it.
line_break='
'
echo "$folder"
# Whoever reads the output of the tests must not wait for this shell.
exec >/dev/null 2>>log

start() {
    # Before the program begins, so that the end below never overlooks it.
    : >running
    {
        "$@" </dev/null >>log 2>&1 &
        echo $! >running.new && mv running.new running
        wait $!
        echo $? >ended.new
        rm running
        mv ended.new ended
    } &
}

signal() {
    pid=$(cat running) && [ -n "$pid" ] && kill -s "$1" "$pid"
}

while IFS= read -r order; do
    eval "$order"
done

# Again and again: a program that has just begun may not listen yet.
attempt=0
while [ -e running ]; do
    attempt=$((attempt + 1))
    if [ $attempt -gt 500 ]; then last_signal=KILL; fi
    signal "$last_signal"
    sleep 0.02
done
cd /
# The children of a killed postmaster live on for as long as they are busy. Linux tells who works in the folder.
find /proc -maxdepth 2 -name cwd -lname "$folder/*" 2>/dev/null | while IFS= read -r link; do
    pid=${link#/proc/}
    kill -s KILL "${pid%/cwd}"
done
# They may have written after their names were read.
rm -rf "$folder" || { sleep 1; rm -rf "$folder"; }
