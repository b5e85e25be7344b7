package netguard_test

import (
	"errors"
	"fmt"

	"newsletterd/netguard"
)

func ExampleGuard_Check() {
	g := netguard.Guard{Allow: []string{"10.0.0.1:8443"}}
	for _, addr := range []string{"93.184.216.34:443", "10.0.0.1:443", "10.0.0.1:8443", "localhost:80"} {
		fmt.Println(addr, errors.Is(g.Check(addr), netguard.ErrNotPublic))
	}
	// Output:
	// 93.184.216.34:443 false
	// 10.0.0.1:443 true
	// 10.0.0.1:8443 false
	// localhost:80 true
}
