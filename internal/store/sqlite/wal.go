package sqlite

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"os"
)

// frame is a page in the write-ahead log (sqlite.org/walformat.html).
type frame struct {
	number uint32 // of the page, from 1
	page   []byte // until the next frame
}

// readLog gives the frames of a write-ahead log to visit, from the first one. It ends where the engine's own recovery
// would: at the first frame that is torn, or is left from before the log began anew. There are none if there is no log.
func readLog(path string, visit func(frame)) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	err = readFrames(bufio.NewReaderSize(f, 1<<16), visit)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

const (
	logMagic       = 0x377f0682 // and 1 if the checksums are of big-endian words
	logHeader      = 32
	frameHeader    = 24
	checksummed    = 8 // bytes of a frame's header that its checksum covers
	saltsAt        = 16
	largestPage    = 65536
	logPageSizeAt  = 8
	headerSumAt    = 24
	frameSaltsAt   = 8
	frameSumAt     = 16
	saltsLength    = 8
	checksumLength = 8
)

func readFrames(r io.Reader, visit func(frame)) error {
	header := make([]byte, logHeader)
	if _, err := io.ReadFull(r, header); err != nil {
		return err
	}
	magic, size := binary.BigEndian.Uint32(header), binary.BigEndian.Uint32(header[logPageSizeAt:])
	sum := logSum{order: binary.LittleEndian}
	if magic&1 == 1 {
		sum.order = binary.BigEndian
	}
	sum.add(header[:headerSumAt])
	if magic&^1 != logMagic || size > largestPage || size%checksummed != 0 || !sum.is(header[headerSumAt:]) {
		return nil
	}
	salts := string(header[saltsAt : saltsAt+saltsLength])
	b := make([]byte, frameHeader+int(size))
	for {
		if _, err := io.ReadFull(r, b); err != nil {
			return err
		}
		sum.add(b[:checksummed])
		sum.add(b[frameHeader:])
		if string(b[frameSaltsAt:frameSaltsAt+saltsLength]) != salts || !sum.is(b[frameSumAt:]) {
			return nil
		}
		visit(frame{binary.BigEndian.Uint32(b), b[frameHeader:]})
	}
}

// logSum is the log's checksum, which runs through all its frames.
type logSum struct {
	order  binary.ByteOrder
	s1, s2 uint32
}

func (s *logSum) add(b []byte) {
	for ; len(b) >= checksumLength; b = b[checksumLength:] {
		s.s1 += s.order.Uint32(b) + s.s2
		s.s2 += s.order.Uint32(b[4:]) + s.s1
	}
}

func (s *logSum) is(stored []byte) bool {
	return binary.BigEndian.Uint32(stored) == s.s1 && binary.BigEndian.Uint32(stored[4:]) == s.s2
}
