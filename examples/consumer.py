"""Prints ten greetings from the beginning: python consumer.py [HOST:PORT]"""

import asyncio
import sys

from aiokafka import AIOKafkaConsumer, TopicPartition


async def main(bootstrap: str) -> None:
    """Read partition 0 by assignment."""
    async with AIOKafkaConsumer(
        bootstrap_servers=bootstrap, auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([TopicPartition("greetings", 0)])
        for _ in range(10):
            record = await consumer.getone()
            print(f"offset {record.offset}: {record.value.decode()}")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "localhost:9092"))
