package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// kannel is Kannel's bearerbox and smsbox, with a spool as their store, on free ports.
type kannel struct {
	pipe           *pipe
	boxes          []*exec.Cmd
	admin, sendsms int
	load           *load
	called         atomic.Int64 // back, with a receipt
	sink           *http.Server
	back           string
	sent           int
}

const kannelConfig = `group = core
admin-port = %d
admin-password = bench
smsbox-port = %d
box-allow-ip = "127.0.0.1"
log-level = 4
store-type = spool
store-location = %s

group = smsc
smsc = smpp
smsc-id = bench
host = 127.0.0.1
port = %s
transceiver-mode = true
smsc-username = kannel
smsc-password = bench
system-type = ""
max-pending-submits = %d

group = smsbox
bearerbox-host = 127.0.0.1
sendsms-port = %d
global-sender = SHOP
log-level = 4

group = sendsms-user
username = bench
password = bench
`

// startKannel starts both boxes and waits until they are bound. An error says why there is no Kannel.
func (p *pipe) startKannel(ctx context.Context) (*kannel, error) {
	for _, box := range []string{"bearerbox", "smsbox"} {
		if _, err := exec.LookPath(box); err != nil {
			return nil, errNoKannel
		}
	}
	k := &kannel{pipe: p}
	if err := k.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("no Kannel: it did not start: %w", err), k.Close())
	}
	return k, nil
}

func (k *kannel) start(ctx context.Context) error {
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	if err := k.startSink(); err != nil {
		return err
	}
	k.admin, k.sendsms = ports[0], ports[2]
	k.load = newLoad(fmt.Sprintf("http://127.0.0.1:%d", k.sendsms), "")
	spool := k.pipe.scratch.path("spool")
	if err := os.Mkdir(spool, 0o700); err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(k.pipe.centre.ready.Listen)
	if err != nil {
		return err
	}
	file := k.pipe.scratch.path("kannel.conf")
	text := fmt.Sprintf(kannelConfig, ports[0], ports[1], spool, port, inFlight, ports[2])
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	for _, box := range []string{"bearerbox", "smsbox"} {
		cmd := exec.CommandContext(ctx, box, file)
		cmd.Dir = k.pipe.scratch.folder
		cmd.SysProcAttr = &syscall.SysProcAttr{}
		endWithParent(cmd.SysProcAttr)
		if err := cmd.Start(); err != nil {
			return err
		}
		k.boxes = append(k.boxes, cmd)
		if err := k.online(ctx, box); err != nil {
			return err
		}
	}
	return nil
}

// online waits until Kannel's status shows the bind, and then the box that sends.
func (k *kannel) online(ctx context.Context, box string) error {
	sign := "(online"
	if box == "smsbox" {
		sign = "smsbox:"
	}
	for end := time.Now().Add(patience); time.Now().Before(end); <-time.After(100 * time.Millisecond) {
		status, err := k.load.get(ctx, fmt.Sprintf("http://127.0.0.1:%d/status.txt?password=bench", k.admin))
		if err == nil && strings.Contains(status, sign) {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return fmt.Errorf("%s was not ready in %s", box, patience)
}

// startSink takes the calls that Kannel makes for receipts.
func (k *kannel) startSink() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	k.back = "http://" + l.Addr().String() + "/"
	k.sink = &http.Server{ReadHeaderTimeout: patience, Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { k.called.Add(1) })}
	go func() { _ = k.sink.Serve(l) }() // it ends with Close
	return nil
}

// Close ends the boxes.
func (k *kannel) Close() error {
	var errs []error
	for i := len(k.boxes) - 1; i >= 0; i-- {
		errs = append(errs, k.boxes[i].Process.Signal(syscall.SIGTERM))
		_ = k.boxes[i].Wait() // Kannel's exit code says nothing
	}
	if k.sink != nil {
		errs = append(errs, k.sink.Close())
	}
	if k.load != nil {
		k.load.Close()
	}
	return errors.Join(errs...)
}

// messages sends over Kannel and waits until the message centre has accepted the last one.
func (k *kannel) messages(ctx context.Context) (sample, error) {
	before, err := k.pipe.centre.count()
	if err != nil {
		return sample{}, err
	}
	return k.drive(ctx, "", before+k.pipe.b.Count, k.pipe.centre.count)
}

// withReceipts asks for receipts too, and waits until Kannel has called back for the last one.
func (k *kannel) withReceipts(ctx context.Context) (sample, error) {
	before := int(k.called.Load())
	return k.drive(ctx, "&dlr-mask=3&dlr-url="+url.QueryEscape(k.back), before+k.pipe.b.Count, func() (int, error) {
		return int(k.called.Load()), nil
	})
}

func (k *kannel) drive(ctx context.Context, more string, want int, count func() (int, error)) (sample, error) {
	n, from := k.pipe.b.Count, k.sent
	k.sent += n
	pids := []int{k.boxes[0].Process.Pid, k.boxes[1].Process.Pid}
	m := k.pipe.b.meter(pids...)
	lat, err := inParallel(ctx, connections, n, func(i int) error {
		to := strings.TrimPrefix(destination(from+i), "+")
		_, err := k.load.get(ctx, k.load.url+"/cgi-bin/sendsms?username=bench&password=bench&to="+to+"&text="+url.QueryEscape(orderText(from+i))+more)
		return err
	})
	if err != nil {
		return sample{}, err
	}
	err = k.pipe.b.until(ctx, "Kannel: messages", want, count)
	return m.stop(n, lat), err
}

// freePorts are ports on which nobody listens at this moment.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = l.Close() }() // to be listened on by another
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}
