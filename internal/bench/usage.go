package bench

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of times in /proc/PID/stat: USER_HZ, which is 100 on every system that Go runs on.
const tick = 10 * time.Millisecond

// cpuTime is what a process has used so far, its threads included; children that have ended, too. It is zero
// where there is no /proc.
func cpuTime(pid int) time.Duration {
	f := statFields(pid)
	const user, childSystem = 11, 14 // utime, stime, cutime, cstime: fields 14 to 17 of proc(5), counted behind the name
	var sum time.Duration
	for i := user; i <= childSystem && i < len(f); i++ {
		n, _ := strconv.ParseInt(f[i], 10, 64)
		sum += time.Duration(n) * tick
	}
	return sum
}

// parentOf is the parent's process id, 0 if it cannot be read.
func parentOf(pid int) int {
	f := statFields(pid)
	if len(f) < 2 {
		return 0
	}
	n, _ := strconv.Atoi(f[1])
	return n
}

// statFields are the fields of /proc/PID/stat behind the process's name, which may hold spaces.
func statFields(pid int) []string {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
}

// resident is the memory of a process, in MiB: now, and at its most.
func resident(pid int) (now, most float64) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)) // without it both stay zero
	for line := range strings.Lines(string(b)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		kib, _ := strconv.ParseFloat(f[1], 64)
		switch f[0] {
		case "VmRSS:":
			now = kib / 1024
		case "VmHWM:":
			most = kib / 1024
		}
	}
	return now, most
}

// ownMost is the memory of this process at its most, in MiB: the clients', the gateway's parts, and the bare side's.
func ownMost() float64 {
	_, most := resident(os.Getpid())
	return most
}

// server is a database server on this machine: its first process, which the others are children of.
type server struct{ postmaster int }

// findServer looks for the processes of a database server. One on another machine has none here: its CPU time is
// not measured. The embedded store has no server.
func findServer(ctx context.Context, store string) (s server, err error) {
	if store == sqliteStore {
		return s, nil
	}
	db, err := sql.Open("pgx", store)
	if err != nil {
		return s, err
	}
	defer closing(&err, db)
	var backend int
	if err := db.QueryRowContext(ctx, "select pg_backend_pid()").Scan(&backend); err != nil {
		return s, err
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", backend))
	if err != nil || !strings.HasPrefix(string(name), "postgres") {
		return s, nil
	}
	return server{parentOf(backend)}, nil
}

// cpuTime is what all of its processes have used, zero for none.
func (s server) cpuTime() time.Duration {
	if s.postmaster == 0 {
		return 0
	}
	sum := cpuTime(s.postmaster)
	all, _ := filepath.Glob("/proc/[0-9]*") // the pattern is right
	for _, dir := range all {
		pid, _ := strconv.Atoi(filepath.Base(dir))
		if parentOf(pid) == s.postmaster {
			sum += cpuTime(pid)
		}
	}
	return sum
}
