//go:build !linux && !darwin

package backup

import "errors"

// exchange swaps two files in one step, which this system cannot.
func exchange(string, string) error { return errors.ErrUnsupported }
