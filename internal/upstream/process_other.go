//go:build !unix

package upstream

import "os/exec"

func ownGroup(*exec.Cmd) {}

func terminateGroup(cmd *exec.Cmd) { killGroup(cmd) }

// killGroup may find nobody left; that is what it is for.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
