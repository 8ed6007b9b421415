package rpc

import (
	"errors"
	"net/url"
)

// Address returns a URL as it may be shown and logged: without the user, the
// query and the fragment, where keys live. What cannot be read is not shown.
func Address(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" {
		return "the address"
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String()
}

// Unnamed returns the error of an HTTP client without the address it names: what
// went wrong there is told, where is not.
func Unnamed(err error) error {
	if at, ok := errors.AsType[*url.Error](err); ok {
		return at.Err
	}
	return err
}
