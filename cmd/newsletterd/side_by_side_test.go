package main

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
)

// sideBySide lets tests that mostly wait for processes of their own run in parallel. At full length (`make torture`)
// each has the machine for itself.
func sideBySide(t *testing.T) {
	t.Helper()
	if os.Getenv(tortureEnv) == "" {
		t.Parallel()
	}
}

// lastPort is the port that freeAddr tried last. Its ports are below those that systems give to outgoing connections
// (from 32768): a connection of another test can't take one before its daemon listens.
var lastPort atomic.Int64

func init() { lastPort.Store(20_000 + int64(os.Getpid()%100)*100) }

// freeAddr returns a free address of loopback, each one once.
func freeAddr(t *testing.T) string {
	t.Helper()
	for range 1000 {
		addr := fmt.Sprintf("127.0.0.1:%d", lastPort.Add(1))
		if l, err := net.Listen("tcp", addr); err == nil {
			l.Close()
			return addr
		}
	}
	t.Fatal("no port is free")
	return ""
}
