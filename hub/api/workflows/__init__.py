"""Operations and serializers of concurrency groups."""
