//go:build !linux

package main

import "errors"

func runSoak([]string) error { return errors.New("soak requires Linux: it reads /proc") }
