package upstream

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"syscall"
)

// hint says what would help somebody whose server could not be asked.
func hint(err error) string {
	_, exited := errors.AsType[*exec.ExitError](err)
	switch {
	case errors.Is(err, ErrLogin):
		return "servers behind a login cannot be asked directly; save what they answer to tools/list"
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "install the command, or give its full path"
	case errors.Is(err, fs.ErrPermission):
		return "make it executable: chmod +x"
	case errors.Is(err, context.DeadlineExceeded):
		return "a first start may download a package: start it once by hand"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nobody listens there: start the server, or correct the address"
	case exited, errors.Is(err, errGone):
		return "run the command by hand to see why it ends"
	default:
		return "is it an MCP server?"
	}
}
