//! Where a broker is: a URL, shown without its password.

use percent_encoding::percent_decode_str;
use std::fmt;
use std::str::FromStr;
use url::Url;

/// AMQP's short strings: names, keys and ids are at most this long, in bytes.
pub(super) const NAME_BYTES_MAX: usize = 255;

/// The address of a RabbitMQ node or cluster: `amqp://USER:PASSWORD@HOST:PORT/VHOST`, or `amqps` for TLS.
/// Neither `Debug` nor `Display` shows the password.
#[derive(Clone, PartialEq, Eq)]
pub struct RabbitAddress {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) user: String,
    pub(super) password: String,
    pub(super) virtual_host: String,
    pub(super) is_tls: bool,
}

/// Why a text is no address of a broker. The text itself is not repeated: it may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the text is no address of a broker: {reason}; write amqp://USER:PASSWORD@HOST:PORT/VHOST")]
pub struct AddressError {
    reason: String,
}

fn wrong(reason: impl Into<String>) -> AddressError {
    AddressError { reason: reason.into() }
}

impl FromStr for RabbitAddress {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<RabbitAddress, AddressError> {
        let url = Url::parse(text).map_err(|error| wrong(error.to_string()))?;
        let is_tls = match url.scheme() {
            "amqp" => false,
            "amqps" => true,
            other => return Err(wrong(format!("its scheme is {other}, expected amqp or amqps"))),
        };
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or_else(|| wrong("it names no host"))?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err(wrong("nothing may follow the virtual host"));
        }
        let virtual_host = match url.path().strip_prefix('/') {
            None | Some("") => "/".to_owned(),
            Some(path) => decoded(path, "virtual host")?,
        };
        if virtual_host.len() > NAME_BYTES_MAX {
            return Err(wrong(format!("the virtual host has more than {NAME_BYTES_MAX} bytes")));
        }
        // RabbitMQ's own defaults for whoever names nobody; they work from the same machine only.
        let user = if url.username().is_empty() { "guest".to_owned() } else { decoded(url.username(), "user")? };
        let password = url.password().map_or(Ok("guest".to_owned()), |password| decoded(password, "password"))?;
        let port = url.port().unwrap_or(if is_tls { 5671 } else { 5672 });
        Ok(RabbitAddress { host: host.to_owned(), port, user, password, virtual_host, is_tls })
    }
}

fn decoded(text: &str, what: &str) -> Result<String, AddressError> {
    let text = percent_decode_str(text).decode_utf8();
    Ok(text.map_err(|_| wrong(format!("the {what} is not UTF-8 behind its percent signs")))?.into_owned())
}

impl fmt::Display for RabbitAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.is_tls { "amqps" } else { "amqp" };
        write!(f, "{scheme}://{}@{}:{}", self.user, self.host, self.port)?;
        if self.virtual_host != "/" {
            write!(f, "/{}", self.virtual_host)?;
        }
        Ok(())
    }
}

impl fmt::Debug for RabbitAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RabbitAddress({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> RabbitAddress {
        text.parse().expect("an address")
    }

    #[test]
    fn every_part_is_read_and_has_its_default() {
        let full = address("amqps://ann:p%40ss@mq.example:7000/night%2Fwork");
        assert_eq!((full.host.as_str(), full.port, full.is_tls), ("mq.example", 7000, true));
        assert_eq!((full.user.as_str(), full.password.as_str()), ("ann", "p@ss"));
        assert_eq!(full.virtual_host, "night/work");
        let bare = address("amqp://mq.example");
        assert_eq!((bare.port, bare.virtual_host.as_str(), bare.user.as_str()), (5672, "/", "guest"));
        assert_eq!((address("amqps://mq").port, address("amqp://mq/").virtual_host.as_str()), (5671, "/"));
    }

    #[test]
    fn a_password_is_never_shown() {
        let good = address("amqp://ann:s3cret@mq.example/work");
        assert_eq!(good.to_string(), "amqp://ann@mq.example:5672/work");
        assert!(!format!("{good:?}").contains("s3cret"));
        for bad in ["http://ann:s3cret@mq", "amqp://ann:s3cret@mq:port", "amqp://ann:s3cret@", "amqp://a:s3cret@m?x=1"]
        {
            let error = bad.parse::<RabbitAddress>().expect_err("no address");
            assert!(!format!("{error} {error:?}").contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn a_virtual_host_that_the_protocol_cannot_carry_is_refused() {
        let longest = format!("amqp://mq/{}", "v".repeat(NAME_BYTES_MAX));
        assert!(longest.parse::<RabbitAddress>().is_ok());
        assert!(format!("{longest}v").parse::<RabbitAddress>().is_err());
    }
}
