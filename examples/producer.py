"""Sends ten greetings, each exactly once: python producer.py [HOST:PORT]"""

import asyncio
import sys

from aiokafka import AIOKafkaProducer


async def main(bootstrap: str) -> None:
    """Produce with idempotence on: a lost acknowledgement is retried, and written once."""
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True) as producer:
        for number in range(10):
            sent = await producer.send_and_wait("greetings", f"hello {number}".encode())
            print(f"sent to partition {sent.partition} at offset {sent.offset}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "localhost:9092"))
