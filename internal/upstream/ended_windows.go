package upstream

import "net"

// hasEnded cannot be asked without waiting here.
func hasEnded(net.Conn) bool { return false }
