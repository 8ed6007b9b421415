package sqlread_test

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A pgConn speaks just enough of PostgreSQL's protocol to run a text as it is,
// several statements and all, and to read the answers as text.
type pgConn struct {
	conn net.Conn
	r    *bufio.Reader
}

// dialPostgres connects to the server of the test.
func dialPostgres(t *testing.T, dir string) *pgConn {
	t.Helper()
	var conn net.Conn
	var err error
	for range 200 { // the server may still be starting
		if conn, err = net.Dial("unix", filepath.Join(dir, ".s.PGSQL.5432")); err != nil {
			t.Fatal(err)
		}
		c := &pgConn{conn, bufio.NewReader(conn)}
		hello := []byte("\x00\x03\x00\x00user\x00postgres\x00database\x00postgres\x00\x00")
		hello = append(binary.BigEndian.AppendUint32(nil, uint32(len(hello)+4)), hello...)
		if _, err = conn.Write(hello); err == nil {
			if _, err = c.answer(); err == nil {
				t.Cleanup(func() { conn.Close() })
				return c
			}
		}
		conn.Close()
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("connecting to postgres: %v", err)
	return nil
}

// query runs a text and returns all rows, columns joined by |.
func (c *pgConn) query(sql string) ([]string, error) {
	if err := c.conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return nil, err
	}
	msg := append(binary.BigEndian.AppendUint32([]byte{'Q'}, uint32(len(sql)+5)), sql...)
	if _, err := c.conn.Write(append(msg, 0)); err != nil {
		return nil, err
	}
	return c.answer()
}

// errSQL is an error the server reported; the connection is still good.
var errSQL = errors.New("postgres")

// answer reads messages up to ReadyForQuery.
func (c *pgConn) answer() ([]string, error) {
	var rows []string
	var failed error
	for {
		var head [5]byte
		if _, err := io.ReadFull(c.r, head[:]); err != nil {
			return nil, err
		}
		body := make([]byte, binary.BigEndian.Uint32(head[1:])-4)
		if _, err := io.ReadFull(c.r, body); err != nil {
			return nil, err
		}
		switch head[0] {
		case 'D':
			rows = append(rows, dataRow(body))
		case 'E':
			failed = fmt.Errorf("%w: %s", errSQL, errorText(body))
		case 'Z':
			return rows, failed
		}
	}
}

func dataRow(body []byte) string {
	var cols []string
	n := binary.BigEndian.Uint16(body)
	body = body[2:]
	for range n {
		size := int32(binary.BigEndian.Uint32(body))
		body = body[4:]
		if size < 0 {
			cols = append(cols, "")
			continue
		}
		cols = append(cols, string(body[:size]))
		body = body[size:]
	}
	return strings.Join(cols, "|")
}

func errorText(body []byte) string {
	for field := range strings.SplitSeq(string(body), "\x00") {
		if strings.HasPrefix(field, "M") {
			return field[1:]
		}
	}
	return "unknown"
}
