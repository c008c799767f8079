//go:build unix

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// commandGrace is how long a command may take to end after the first signal; then its group is killed. `go
// test` needs a moment to end the test programs that it started.
const commandGrace = 20 * time.Second

// execute runs the command with vars in its environment and returns its exit code. The command has a process
// group of its own: a Ctrl-C at the terminal reaches it once, through us, and what it leaves behind is ended
// with it.
func execute(command, vars []string, signals <-chan os.Signal, log io.Writer) int {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = append(os.Environ(), vars...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(cmd.SysProcAttr)
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(log, "testenv:", err)
		return 127
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	return exitCode(await(cmd.Process.Pid, done, signals), log)
}

// await forwards signals to the group until its leader has ended, then kills whatever is left of the group.
func await(group int, done <-chan error, signals <-chan os.Signal) error {
	defer syscall.Kill(-group, syscall.SIGKILL)
	var tooLong <-chan time.Time
	for {
		select {
		case err := <-done:
			return err
		case s := <-signals:
			_ = syscall.Kill(-group, s.(syscall.Signal))
			if tooLong == nil {
				tooLong = time.After(commandGrace)
			}
		case <-tooLong:
			_ = syscall.Kill(-group, syscall.SIGKILL)
		}
	}
}

// exitCode says what a shell would say of a command that ended with err.
func exitCode(err error, log io.Writer) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		fmt.Fprintln(log, "testenv:", err)
		return 1
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}
