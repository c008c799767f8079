package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// child is another process of this program. It ends with the run.
type child struct {
	name  string
	cmd   *exec.Cmd
	said  bytes.Buffer // to stderr
	ready readyLine
}

// readyLine is what a process prints on one line as soon as it is ready.
type readyLine struct {
	Listen       string `json:"listen"`
	AdminKeyFile string `json:"admin_key_file"`
	ReadyMs      int64  `json:"ready_ms"`
}

// patience is how long a process may take to be ready, and to end in order.
const patience = 60 * time.Second

// run starts this program and waits until it is ready.
func (b *bench) run(ctx context.Context, args ...string) (*child, error) {
	all := append(append([]string{}, b.Program...), args...)
	c := &child{name: args[0], cmd: exec.CommandContext(ctx, all[0], all[1:]...)}
	c.cmd.Stderr = &c.said
	c.cmd.SysProcAttr = &syscall.SysProcAttr{}
	endWithParent(c.cmd.SysProcAttr)
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s could not be started: %w", args[0], err)
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &c.ready)
	}
	if err != nil {
		_ = c.Close() // how it ended says less than what it said
		return nil, fmt.Errorf("%s did not start: %s", c.name, strings.TrimSpace(c.said.String()))
	}
	return c, nil
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// Close ends the process in order, or kills it.
func (c *child) Close() error {
	if err := c.cmd.Process.Signal(syscall.SIGTERM); errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	ended := make(chan error, 1)
	go func() { ended <- c.cmd.Wait() }()
	select {
	case err := <-ended:
		return c.verdict(err)
	case <-time.After(patience):
		return errors.Join(errors.New("a process did not end in order and was killed"), c.cmd.Process.Kill(), <-ended)
	}
}

// verdict is nil for a process that ended well.
func (c *child) verdict(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s ended badly (%w): %s", c.name, err, strings.TrimSpace(c.said.String()))
}
