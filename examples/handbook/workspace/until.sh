# until.sh FILE [FIRST]: make FIRST, then wait until FILE is there, a minute at most.
test -z "$2" || touch "$2"
for _ in $(seq 300); do test -e "$1" && exit 0; sleep 0.2; done
exit 1
