class Gauze < Formula
  desc "{{.About}}"
  homepage "{{.Homepage}}"
  version "{{.Version}}"
  license "{{.License}}"

  on_macos do
    on_arm do
      url "{{(index .Archives "darwin/arm64").URL}}"
      sha256 "{{(index .Archives "darwin/arm64").SHA256}}"
    end
    on_intel do
      url "{{(index .Archives "darwin/amd64").URL}}"
      sha256 "{{(index .Archives "darwin/amd64").SHA256}}"
    end
  end

  on_linux do
    on_arm do
      url "{{(index .Archives "linux/arm64").URL}}"
      sha256 "{{(index .Archives "linux/arm64").SHA256}}"
    end
    on_intel do
      url "{{(index .Archives "linux/amd64").URL}}"
      sha256 "{{(index .Archives "linux/amd64").SHA256}}"
    end
  end

  def install
    bin.install "gauze"
    man1.install Dir["man/man1/*.1"]
    bash_completion.install "completions/gauze.bash" => "gauze"
    zsh_completion.install "completions/_gauze"
    fish_completion.install "completions/gauze.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/gauze version")
  end
end
