//go:build unix

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// pollEvery is how often a starting server is asked whether it is ready. It has no signal of its own that works
// for a local process and a container alike.
const pollEvery = 25 * time.Millisecond

// awaitPostgres waits until the server asks for a password, it ends, or ctx ends.
func awaitPostgres(ctx context.Context, address string, ended <-chan struct{}) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		err := askPostgres(ctx, address)
		if err == nil {
			return nil
		}
		select {
		case <-ended:
			return errors.New("the server ended while it was starting")
		case <-ctx.Done():
			return fmt.Errorf("not ready: %w: %w", ctx.Err(), err)
		case <-tick.C:
		}
	}
}

// askPostgres sends a start-up message of protocol 3.0 (PostgreSQL documentation, "Message Formats",
// StartupMessage) and is content with any request for authentication ('R'). A server that is still starting
// answers with an error ('E'), and the forwarder of a container closes the connection.
func askPostgres(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	deadline, _ := ctx.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return err
	}
	if _, err := conn.Write(startupMessage(postgresUser)); err != nil {
		return err
	}
	var kind [1]byte
	if _, err := io.ReadFull(conn, kind[:]); err != nil {
		return err
	}
	if kind[0] != 'R' {
		return fmt.Errorf("the server answered with a message of type %q", kind[0])
	}
	return nil
}

func startupMessage(user string) []byte {
	const protocol3 = 3 << 16
	body := "user\x00" + user + "\x00\x00"
	msg := binary.BigEndian.AppendUint32(nil, uint32(8+len(body)))
	msg = binary.BigEndian.AppendUint32(msg, protocol3)
	return append(msg, body...)
}
