//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// process is a server that is our own child.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has ended
}

// startProcess starts a server as the folder's owner. It has a process group of its own, so that a Ctrl-C at
// the terminal does not end it under the tests that are still ending. Its output goes to the folder's log.
func startProcess(dir *scratch, program string, args ...string) (*process, error) {
	log, err := os.Create(dir.path("log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir.dir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: dir.owner, Setpgid: true}
	endWithParent(cmd.SysProcAttr)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait() // how it ended is in its log
	}()
	return p, nil
}

// stops are the signals that end a PostgreSQL server (its documentation, "Shutting Down the Server"): fast,
// immediate, and the one that nobody can refuse.
var stops = []struct {
	signal syscall.Signal
	wait   time.Duration
}{
	{syscall.SIGINT, 10 * time.Second},
	{syscall.SIGQUIT, 5 * time.Second},
	{syscall.SIGKILL, 5 * time.Second},
}

// stop ends the server and waits until it has ended.
func (p *process) stop() error {
	for _, s := range stops {
		if err := p.cmd.Process.Signal(s.signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return err
		}
		select {
		case <-p.ended:
			return nil
		case <-time.After(s.wait):
		}
	}
	return errors.New("the server does not end")
}
