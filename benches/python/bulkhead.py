"""Times the Python bulklink as the Rust scenes time ours. Prints nanoseconds per operation as JSON."""

import asyncio
import json
import statistics
import time

from bulklink import AsyncBulkhead

ROUNDS = 7
UNCONTENDED = 20_000
TASKS = 1_000
EACH = 20


async def uncontended() -> float:
    """Takes and releases a slot, without waiters."""
    bulkhead = AsyncBulkhead(label="bench", parallelism=10, waiting_room=TASKS)
    start = time.perf_counter_ns()
    for _ in range(UNCONTENDED):
        async with bulkhead.slot():
            pass
    return (time.perf_counter_ns() - start) / UNCONTENDED


async def hand_off() -> float:
    """Tasks share ten slots: each acquires, yields while it holds the slot, and releases, again and again."""
    bulkhead = AsyncBulkhead(label="bench", parallelism=10, waiting_room=TASKS)

    async def task() -> None:
        for _ in range(EACH):
            async with bulkhead.slot():
                await asyncio.sleep(0)

    start = time.perf_counter_ns()
    await asyncio.gather(*(task() for _ in range(TASKS)))
    return (time.perf_counter_ns() - start) / (TASKS * EACH)


def median(scene) -> float:
    """Returns the median of the rounds, after one to warm up."""
    times = [asyncio.run(scene()) for _ in range(ROUNDS + 1)]
    return statistics.median(times[1:])


print(json.dumps({"uncontended": median(uncontended), "hand-off": median(hand_off)}))
