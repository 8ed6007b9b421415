// Package tooltest is for the tests of servers made with package tool.
package tooltest
