FROM python:3.11-slim
COPY . /src
RUN pip install --no-cache-dir /src && rm -rf /src && useradd --system minibroker
USER minibroker
EXPOSE 9092 29092
HEALTHCHECK --interval=2s --timeout=3s --start-period=2s --retries=15 CMD ["minibroker", "ready"]
ENTRYPOINT ["minibroker"]
# HOST is what programs on the host use (publish 9092), DOCKER what other containers use (call this one "broker").
CMD ["serve", \
     "--set", "listeners=HOST://0.0.0.0:9092,DOCKER://0.0.0.0:29092", \
     "--set", "advertised.listeners=HOST://localhost:9092,DOCKER://broker:29092"]
