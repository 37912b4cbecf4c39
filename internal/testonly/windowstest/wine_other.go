//go:build !windows

package windowstest

func underWine() bool { return false }
