package main

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// size is the value of a flag that is a number of bytes, such as 64MiB.
type size int

// units are the suffixes of a size, as powers of 1024.
var units = map[string]int{"": 0, "k": 1, "m": 2, "g": 3}

func (s size) String() string {
	n, unit := int(s), 0
	for ; n > 0 && n%1024 == 0 && unit < 3; unit++ {
		n /= 1024
	}
	return strconv.Itoa(n) + []string{"", "KiB", "MiB", "GiB"}[unit]
}

// Type names what the flag takes.
func (s size) Type() string { return "size" }

// Set reads a number with a unit: 1048576, 1024k, 1MB, 1MiB.
func (s *size) Set(text string) error {
	text = strings.ToLower(text)
	digits := strings.TrimRight(text, "kmgib")
	unit, ok := units[strings.TrimSuffix(strings.TrimSuffix(text[len(digits):], "b"), "i")]
	n, err := strconv.Atoi(digits)
	if inRange := n >= 1 && n <= math.MaxInt>>(10*unit); !ok || err != nil || !inRange {
		return errors.New("must be a number of bytes with a unit, such as 64MiB")
	}
	*s = size(n << (10 * unit))
	return nil
}
