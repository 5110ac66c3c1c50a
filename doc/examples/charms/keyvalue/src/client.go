package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// errNone means that the key has no value.
var errNone = errors.New("no value")

// ask sends a command to the server at addr and returns the value in the answer.
func ask(addr, command string) (string, error) {
	if strings.ContainsAny(command, "\r\n") {
		return "", errors.New("keys and values can't contain line breaks")
	}
	conn, err := net.DialTimeout("tcp", addr, 5*time.Second)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(15 * time.Second))
	if _, err := io.WriteString(conn, command+"\n"); err != nil {
		return "", err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("no answer from %s: %w", addr, err)
	}
	kind, rest, _ := strings.Cut(strings.TrimSuffix(answer, "\n"), " ")
	switch kind {
	case "VALUE", "OK":
		return rest, nil
	case "NONE":
		return "", errNone
	}
	return "", errors.New(rest)
}
