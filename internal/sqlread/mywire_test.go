package sqlread_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// A myConn speaks just enough of MySQL's protocol to run a text as it is,
// several statements and all, and to read the answers as text.
type myConn struct {
	conn net.Conn
	r    *bufio.Reader
}

func dialMariaDB(t *testing.T, socket, database string) *myConn {
	t.Helper()
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	c := &myConn{conn, bufio.NewReader(conn)}
	if _, err := c.packet(); err != nil { // the greeting
		t.Fatal(err)
	}
	// Long password, database, protocol 4.1, transactions, secure connection,
	// several statements and results, authentication plugins.
	const capabilities = 1 | 8 | 0x200 | 0x2000 | 0x8000 | 0x10000 | 0x20000 | 0x80000
	hello := binary.LittleEndian.AppendUint32(nil, capabilities)
	hello = binary.LittleEndian.AppendUint32(hello, 1<<24)
	hello = append(append(hello, 45), make([]byte, 23)...) // utf8mb4
	hello = append(hello, "root\x00\x00"+database+"\x00mysql_native_password\x00"...)
	if err := c.send(1, hello); err != nil {
		t.Fatal(err)
	}
	if answer, err := c.packet(); err != nil || answer[0] != 0 {
		t.Fatalf("logging in: %q, %v", answer, err)
	}
	return c
}

func (c *myConn) send(sequence byte, body []byte) error {
	head := []byte{byte(len(body)), byte(len(body) >> 8), byte(len(body) >> 16), sequence}
	_, err := c.conn.Write(append(head, body...))
	return err
}

func (c *myConn) packet() ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		return nil, err
	}
	body := make([]byte, int(head[0])|int(head[1])<<8|int(head[2])<<16)
	_, err := io.ReadFull(c.r, body)
	if err == nil && len(body) == 0 {
		err = errors.New("an empty packet")
	}
	return body, err
}

// query runs a text and returns all rows of all results, columns joined by |.
func (c *myConn) query(sql string) ([]string, error) {
	if err := c.conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return nil, err
	}
	if err := c.send(0, append([]byte{3}, sql...)); err != nil {
		return nil, err
	}
	var rows []string
	for {
		got, more, err := c.result()
		rows = append(rows, got...)
		if err != nil || !more {
			return rows, err
		}
	}
}

// result reads one result and reports whether another follows.
func (c *myConn) result() (rows []string, more bool, err error) {
	head, err := c.packet()
	switch {
	case err != nil:
		return nil, false, err
	case head[0] == 0xff:
		return nil, false, fmt.Errorf("%w: %s", errSQL, head[3:])
	case head[0] == 0:
		_, n := lenenc(head[1:])
		_, m := lenenc(head[1+n:])
		return nil, moreResults(head[1+n+m:]), nil
	}
	for ends := 0; ; {
		p, err := c.packet()
		switch {
		case err != nil:
			return nil, false, err
		case p[0] == 0xff:
			return rows, false, fmt.Errorf("%w: %s", errSQL, p[3:])
		case p[0] == 0xfe && len(p) < 9:
			if ends++; ends == 2 {
				return rows, moreResults(p[3:]), nil
			}
		case ends == 1:
			rows = append(rows, textRow(p))
		}
	}
}

func moreResults(status []byte) bool { return status[0]&8 != 0 }

func textRow(p []byte) string {
	var cols []string
	for len(p) > 0 {
		if p[0] == 0xfb {
			cols, p = append(cols, "NULL"), p[1:]
			continue
		}
		size, n := lenenc(p)
		cols, p = append(cols, string(p[n:n+size])), p[n+size:]
	}
	return strings.Join(cols, "|")
}

// lenenc reads a number and returns how many bytes it took.
func lenenc(p []byte) (value, size int) {
	switch p[0] {
	case 0xfc:
		return int(binary.LittleEndian.Uint16(p[1:])), 3
	case 0xfd:
		return int(p[1]) | int(p[2])<<8 | int(p[3])<<16, 4
	case 0xfe:
		return int(binary.LittleEndian.Uint64(p[1:])), 9
	}
	return int(p[0]), 1
}
