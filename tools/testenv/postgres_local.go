//go:build unix

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	postgresUser = "einmal"
	portTries    = 5                // another program may take the free port before the server does
	readyWithin  = 60 * time.Second // initialised clusters answer within a second; slow disks need longer
)

// postgresSettings make the server fit for many tests at a time and leave it honest: what is measured and
// killed here must be as durable as what an operator runs.
var postgresSettings = []string{
	"fsync=on",
	"synchronous_commit=on",
	"full_page_writes=on",
	"max_connections=500", // a gateway has up to 24, and many run at the same time,
	"shared_buffers=256MB",
	"timezone=UTC",
	"log_timezone=UTC",
}

// startInstalled runs the server that is installed on this machine.
func startInstalled(ctx context.Context, dir *scratch) (*server, error) {
	bin := findPostgres(installations)
	if bin == "" {
		return nil, absent{"no folder with initdb and postgres in PATH, from pg_config, or in " + strings.Join(installations, " ")}
	}
	return startPostgres(ctx, dir, bin)
}

// startPostgres makes a cluster in the folder and serves it on a free port of 127.0.0.1, without a socket file.
func startPostgres(ctx context.Context, dir *scratch, bin string) (*server, error) {
	password := rand.Text()
	if err := initdb(ctx, dir, bin, password); err != nil {
		return nil, err
	}
	var errs []error
	for range portTries {
		srv, err := servePostgres(ctx, dir, bin, password)
		if err == nil {
			return srv, nil
		}
		errs = append(errs, err)
		if !errors.Is(err, errPortTaken) {
			break
		}
	}
	return nil, errors.Join(errs...)
}

// initdb skips its own fsync: a cluster that the machine's crash destroys is of no use to anybody. The server
// syncs what it writes.
func initdb(ctx context.Context, dir *scratch, bin, password string) error {
	pwfile, err := dir.writeFile("password", password)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "--pgdata="+dir.path("data"), "--username="+postgresUser,
		"--pwfile="+pwfile, "--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-sync")
	cmd.Dir = dir.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: dir.owner, Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // with the programs that it started
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	return nil
}

// errPortTaken says that somebody else got the port first.
var errPortTaken = errors.New("the port was taken meanwhile")

func servePostgres(ctx context.Context, dir *scratch, bin, password string) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	p, err := startProcess(dir, filepath.Join(bin, "postgres"), postgresArgs(dir, port)...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	address := net.JoinHostPort("127.0.0.1", port)
	if err := awaitPostgres(ctx, address, p.ended); err != nil {
		err = errors.Join(err, p.stop())
		return nil, explain(err, dir.path("log"))
	}
	return &server{
		about: fmt.Sprintf("%s on %s", bin, address),
		value: postgresURL(password, address),
		stop:  p.stop,
	}, nil
}

func postgresArgs(dir *scratch, port string) []string {
	args := []string{"-D", dir.path("data"), "-p", port, "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="}
	for _, s := range postgresSettings {
		args = append(args, "-c", s)
	}
	return args
}

func postgresURL(password, address string) string {
	return fmt.Sprintf("postgres://%s:%s@%s/postgres?sslmode=disable", postgresUser, password, address)
}

// freePort returns a port that was free a moment ago.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, errors.Join(err, l.Close())
}

// explain adds what the server wrote to the error of a start that failed.
func explain(err error, logFile string) error {
	out, readErr := os.ReadFile(logFile)
	if readErr != nil {
		return err
	}
	if strings.Contains(string(out), "Address already in use") {
		return fmt.Errorf("%w: %w", errPortTaken, err)
	}
	return fmt.Errorf("%w\n%s", err, out)
}
