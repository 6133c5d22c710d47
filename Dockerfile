# A memory in a container. The store is the volume; the network is not needed.
#
#   docker build -t memento .
#   docker run -i --rm -v memento:/store memento              an MCP server on stdin and stdout
#   docker run --rm -v memento:/store memento list            any command of the shell
#   see docs/how-to/behind-a-proxy.md for a service
FROM python:3.13-slim AS build
WORKDIR /src
COPY . .
RUN python -m venv /opt/memento && /opt/memento/bin/pip install --no-cache-dir ".[serve,postgres]"

FROM python:3.13-slim
COPY --from=build /opt/memento /opt/memento
RUN useradd --create-home --uid 1000 memento && install -d -o memento -m 0700 /store
USER memento
WORKDIR /home/memento
ENV PATH=/opt/memento/bin:$PATH MEMENTO_ROOT=/store
VOLUME /store
ENTRYPOINT ["memento"]
CMD ["mcp"]
