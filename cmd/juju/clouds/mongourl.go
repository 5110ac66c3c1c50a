package clouds

import (
	"fmt"
	"os"
	"strings"

	"juju/cmd/juju/cli"
)

// mongoVariable is the environment variable used when --mongo-url is not given.
const mongoVariable = "JUJU_MONGO_URL"

// maxURLFile is the maximum size of a file with the URL.
const maxURLFile = 64 << 10

// MongoURL returns the given value of --mongo-url, or what its file has; "" if none is given. jujud validates it.
func MongoURL(given string) (string, error) {
	if given == "" {
		given = os.Getenv(mongoVariable)
	}
	// Child processes do not need it.
	if err := os.Unsetenv(mongoVariable); err != nil {
		return "", err
	}
	file, ok := strings.CutPrefix(given, "@")
	if !ok {
		return given, nil
	}
	text, err := cli.ReadWhole(file, maxURLFile)
	if err != nil {
		return "", fmt.Errorf("cannot read the URL of the MongoDB: %w", err)
	}
	if given = strings.TrimSpace(string(text)); given == "" {
		return "", fmt.Errorf("cannot read the URL of the MongoDB: %s is empty", file)
	}
	return given, nil
}
