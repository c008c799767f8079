package torture_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/einmal/einmal/internal/ground/clock"
)

// patience is how long a process may take to say that it is ready, or to end after it was told to.
const patience = 40 * time.Second

// process is a run of the program. It ends with the test at the latest.
type process struct {
	t     *testing.T
	name  string
	cmd   *exec.Cmd
	out   output
	ended chan struct{} // closed when it has ended
	at    clock.Micros  // when it had ended
}

// launch starts the program.
func launch(t *testing.T, name string, env []string, args ...string) *process {
	t.Helper()
	return launchProgram(t, binary, name, env, args...)
}

// launchProgram starts the program as it was built from some commit.
func launchProgram(t *testing.T, program, name string, env []string, args ...string) *process {
	t.Helper()
	p := &process{t: t, name: name, cmd: exec.Command(program, args...), ended: make(chan struct{})}
	p.out.first = make(chan string, 1)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out.errors
	p.cmd.SysProcAttr = &syscall.SysProcAttr{}
	endWithParent(p.cmd.SysProcAttr)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // how it ended is in its state
		p.at = clock.FromTime(time.Now())
	}()
	t.Cleanup(p.cleanUp)
	return p
}

// cleanUp ends what is left and, if the test has failed, shows what the process said.
func (p *process) cleanUp() {
	if !p.over() {
		_ = p.cmd.Process.Signal(syscall.SIGKILL)
		<-p.ended
	}
	if p.t.Failed() {
		p.t.Logf("%s (process %d, %s) said:\n%s", p.name, p.cmd.Process.Pid, p.cmd.ProcessState, p.out.errors.String())
	}
}

// address waits until the process is ready and returns where it listens; "": it ended before.
func (p *process) address() string {
	p.t.Helper()
	select {
	case line := <-p.out.first:
		var ready struct{ Listen string }
		if err := json.Unmarshal([]byte(line), &ready); err != nil || ready.Listen == "" {
			p.t.Fatalf("the start line of %s cannot be read: %q", p.name, line)
		}
		return ready.Listen
	case <-p.ended:
		return ""
	case <-time.After(patience):
		p.t.Fatalf("%s is not ready after %s", p.name, patience)
		return ""
	}
}

func (p *process) over() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("%s cannot be sent %s: %v", p.name, s, err)
	}
}

// died waits until the process was ended by SIGKILL. At a kill point nobody but the process itself sends that.
func (p *process) died(within time.Duration) {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(within):
		p.t.Fatalf("%s lives on: its kill point was not passed", p.name)
	}
	status, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL {
		p.t.Fatalf("%s ended by itself (%s) and was not killed", p.name, p.cmd.ProcessState)
	}
}

// stop ends the process in order.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("%s does not stop", p.name)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.t.Errorf("%s stopped with code %d", p.name, code)
	}
}

// output takes what a process prints: its first line is the start line.
type output struct {
	text   said
	first  chan string
	sent   bool
	errors said
}

// Write is called by one goroutine.
func (o *output) Write(b []byte) (int, error) {
	n, err := o.text.Write(b)
	if line, _, whole := bytes.Cut([]byte(o.text.String()), []byte("\n")); whole && !o.sent {
		o.sent = true
		o.first <- string(line)
	}
	return n, err
}

// said is a buffer that may be read while it is written.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *said) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
