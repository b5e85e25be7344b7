package terminal

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// Listen listens on the address in a configuration key. If another program uses the port, the error names the program
// if possible.
func Listen(key, addr string) (net.Listener, error) {
	l, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s: %s is already in use by %s. Stop that program, or set %s to another port: %w", key, addr,
			PortHolder(addr), key, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return l, nil
}
